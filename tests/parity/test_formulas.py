"""Settings in combination, for each architecture, against their formulas in PyTorch."""

import cases
from parity import finish

finish(cases.formulas_agree(cases.FORMULAS))
