"""Sentences that tokenizers are trained on, and texts that they are asked about."""

SENTENCES = """
The cat sat on the mat and the dog ran to the sea.
A small house stands near the old river in the north.
She sells fresh bread, and he reads the letters again.
No one knows where the road ends, but it is long.
In the morning the sun rises over the hills and the sea.
They don't think that we'll see the end of it, do they?
He said: "It's 12 or\t345 miles from here."
Two dogs and three cats are in the garden near the inn.
Reading and writing are hard; running is harder still.
The children were singing an old song on the train.
Die Katze saß auf der Straße über dem Fluß.
Un café crème et deux gâteaux, s'il vous plaît.
ending, standing, sending, landing, handing, bending
the the the and and of to in on at is it he she we they
Rain falls on the town, and the trees are green again.
One hundred and twenty men stood there in 1999 and 2024.
""".strip().split("\n")

TEXTS = [
    "The cat sat on the mat.",
    "no one ends the song in the garden",
    "  Two  dogs,\tand he'll see\nthe sea ",
    "Straße über café crème",
    "東京 is big 😀 e\u0301 12345!",
    "",
    "The <s>end</s> of [MASK] <mask> and <|endoftext|> it<pad>",
    "near the old river",
]
MODEL_TEXTS = [
    "The children were singing an old song on the train, and two dogs ran to the sea near the old inn.",
    "a cat in the garden",
]
