"""Every model of this folder."""

from catalogue_decoders import DECODERS
from catalogue_encoder_decoders import ENCODER_DECODERS
from catalogue_encoders import ENCODERS
from catalogue_gguf import GGUF

MODELS = DECODERS + ENCODER_DECODERS + ENCODERS + GGUF
