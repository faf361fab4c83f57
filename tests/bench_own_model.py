"""How long the map of layers by heads takes: a model of GPT-2's size with random parameters.

python tests/bench_own_model.py: 12 layers of 12 heads, 30 pieces, on one core.
"""

import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

import transformers

from helpers.models import own_model
from helpers.models.inside import NEXT, OwnModel

torch.set_num_threads(1)
tokenizer = own_model.load_model().tokenizer
torch.manual_seed(0)
gpt2 = transformers.GPT2LMHeadModel(transformers.GPT2Config(attn_implementation="eager"))
model = OwnModel("GPT-2's size, random", gpt2, tokenizer, NEXT)
text = "the cat took a hat " * 6
began = time.process_time()
view = model.effects(text)
seconds = time.process_time() - began
pieces = len(model.look(text).rows)
print(f"{view.matrix.shape} heads, {pieces} pieces, {seconds:.1f} s of one core (at most 30)")
sys.exit(seconds > 30)
