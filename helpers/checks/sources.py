"""Where a mistake was seen, or why it is made, if it is declared in several places."""

SOURCES = {
    "keys not transposed": "queries @ keys works when as many keys as numbers",
    "sign flipped": "softmin, or -x from the formula of the sigmoid",
    "averaged instead of added": (
        "RandolphVI/Multi-Label-Text-Classification#14 (reduce_mean makes the score)"
    ),
    "scaled by the embedding size": (
        "lucidrains/vit-pytorch#65, FareedKhan-dev/train-llm-from-scratch#3"
    ),
    "subtracted the global max": "scores.max() without dim is one number for all rows",
    "softmax twice": "McCaffrey's blog, 2018",
    "softmax over the whole matrix": (
        "asked in lucidrains/perceiver-pytorch#46; a published walk-through"
    ),
    "not divided by the sum": "the last step of softmax left out",
    "softmax over the wrong axis": (
        "labmlai/annotated_deep_learning_paper_implementations#146, "
        "nerminnuraydogan/vision-transformer#1"
    ),
    "keepdim forgotten": "Karpathy's makemore lecture, P / P.sum(1)",
    "sigmoid per score": "codekansas/keras-language-modeling#30, CRIPAC-DIG/TextING#14",
    "log_softmax": "next to softmax in the list of names; used with losses",
    "scores instead of weights": (
        "RandolphVI/Multi-Label-Text-Classification#14; PaddlePaddle/PaddleOCR#4556"
    ),
    "all weights equal": "mean() looks like a blend, but forgets the weights",
    "weights transposed": "heykeetae/Self-Attention-GAN#11",
    "masked_fill result dropped": "QwenLM/Qwen#933",
    "mask * -inf added": "cerebroai/reformers#3, callummcdougall/ARENA_3.0#54",
    "mask after softmax": "huggingface/pytorch-image-models#2236",
    "softmax, mask, softmax": "softmax used again, to make the rows sum to 1",
    "masked with 0": (
        "georg-wolflein/good-features#1; awslabs/gluonts#1401, Shujun-He/RibonanzaNet#5 (-1e-9)"
    ),
    "diagonal masked too": "proposed in pytorch/tutorials#2250; pbloem/former#10",
    "one step too generous": "RVC-Boss/GPT-SoVITS#965",
    "+inf": "lucidrains/memory-compressed-attention#2 (-float('-inf'))",
    "mask only, scores unused": "Karpathy's nanoGPT lecture, version 1",
    "multiplied but did not add up": "ematvey/hierarchical-attention-networks#5",
    "1-based index": "people count words from 1, Python from 0",
    "cosine instead of dot product": "alanqrwang/nwhead#3",
    "distance instead of similarity": "ixaxaar/pytorch-dnc#56 (similarity and distance mixed up)",
    "operands the wrong way round": "x[i] @ x reads like the formula, shapes do not fit",
    "loop stops one early": "range(n - 1) to be safe at the end",
    "scaled": "the formula of the paper, which has a root",
    "softmax already applied": "datawhalechina/happy-llm#161 (weights called scores)",
    "attention between features": "inputs.T @ inputs has fitting shapes as well",
    "scaled before softmax": "the formula of the paper, which has a root",
    "not normalised": "scores and weights have the same shape",
    "exp missing": "the maximum was subtracted, and exp forgotten on the way",
    "divided by the largest score": "the stable formula remembered with / in place of -",
    "always the query 1": "copied from the cell about journey, inputs[1]",
    "one context copied": "context of one query computed once, outside the loop",
    "a number not low enough": "vgsatorras/few-shot-gnn#8 (1e8 subtracted on the diagonal)",
    "attention between coordinates": ".T was put on the first factor: queries.T @ keys",
    "matrices created in another order (k,q,v)": "neetcode-gh/leetcode#5169",
    "drawn as (d_out,d_in)": "nn.Linear keeps (out, in), so people draw like it",
    "nn.Linear instead of Parameter(rand)": (
        "the usual layer, but it draws other numbers than torch.rand"
    ),
    "bias left on": "hkproj/pytorch-transformer#4, dido1998/Recurrent-Independent-Mechanisms#9",
    "another seed": "a seed of one's own is set out of habit",
    "still scores": "masked_fill returned, softmax forgotten",
    "softmax over the batch": "PetrochukM/PyTorch-NLP#2",
    "split by view without transpose": "reczoo/FuxiCTR#30; asked in bentrevett/pytorch-seq2seq#148",
    "transpose left out": "NVlabs/FoundationStereo#217; asked in lucidrains/vit-pytorch#90",
    "numbers dealt out in turn": "x[..., h::num_heads] cuts, but not in a row",
    "wrong dimensions exchanged": "dims counted from 1, or batch forgotten in the count",
    "batch lost": "galsang/BiDAF-pytorch#26 (squeeze takes the batch of 1 away)",
    "every head gets all numbers": "asked in Kyubyong/transformer#55, phlippe/uvadlc_notebooks#64",
    "only the first head": "return inside the loop over the heads",
    "one projection for all heads": (
        "MarcoMeter/episodic-transformer-memory-ppo#22 (one projection shared by the heads)"
    ),
    "slices do not step by head_dim": "the start of a slice was counted in heads, not in numbers",
    "transposed before it was cut": "the two steps in the other order have the right shape too",
    "merged without transposing back": (
        "jsbaan/transformer-from-scratch#6, ajhalthor/Transformer-Neural-Network#4"
    ),
    "view after transpose": "vllm#11979; rasbt/LLMs-from-scratch, chapter 3",
    "heads averaged": "several answers to one question are often averaged",
    "heads added": "awf/functional-transformer#8",
    "largest of the heads": "broadinstitute/CellCap#40 (a max over the heads)",
    "merged with the heads before the batch": (
        "hackiey/QAnet-pytorch#2, gazelle93/Transformer-Various-Positional-Encoding#1"
    ),
    "concatenated along tokens": "cat(dim=1) is right for one sentence of (n, d)",
    "only the last head": "= inside the loop in place of append",
    "not merged": "transpose alone looks like the way back",
    "every sentence with every pair": (
        "asked in tensorflow/tensorflow#5328 (each row with an index of its own)"
    ),
    "positions of the first sentence for all": (
        "queries[0] was right for the sentence that was looked at first"
    ),
    "only the first sentence": "return inside the loop over the sentences",
    "no index for the sentence": "weights[query, key] is right for one sentence, (n, n)",
    "query and key exchanged": "harvardnlp/annotated-transformer#104 (rows and columns mixed up)",
    "the last word as the query": (
        "Gen-Verse/LatentMAS#26, vgel/repeng#38 (-1 is not the word that is meant)"
    ),
}
