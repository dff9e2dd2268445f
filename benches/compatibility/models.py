"""Models of the package transformers under ``torch.compile``, forward and backward: ``python -m deuteron benches/compatibility/models.py``.

Each has small random weights. Results and gradients, in float32 and bfloat16, are compared with the same model in float64 without
``torch.compile``: they may be twice as far from that as the model itself is that is not compiled. ``--device cpu`` runs Inductor's kernels
on this machine's processors. Names as arguments choose models. Prints a line for each, with the seconds that the first run took;
ends with 1 if one is wrong. Under plain ``python`` the installed reference is used in the same way.
"""

import argparse
import copy
import sys
import time
import warnings

import torch
import transformers

#: What most configurations share; other names of the same things stand beside the models that have them.
SIZES = {"vocab_size": 99, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
GROUPED = {**SIZES, "num_key_value_heads": 2}
WITH_HEADS = {**GROUPED, "head_dim": 16}
VISION = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 32, "patch_size": 8}
TWO_SIDES = {"vocab_size": 99, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
             "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128}
#: How far a result may be from float64 even if the model that is not compiled is exact.
LEAST = {torch.float32: 1e-6, torch.bfloat16: 4e-3}


def tokens(length=37):
    """Two rows of words."""
    return torch.randint(1, 90, (2, length))


def words():
    """What most models of language take."""
    return {"input_ids": tokens()}


def pairs():
    """What a model with two sides takes."""
    return {"input_ids": tokens(), "decoder_input_ids": tokens(21)}


def images(size=32):
    """Two pictures."""
    return {"pixel_values": torch.randn(2, 3, size, size)}


def sound():
    """Two spectra, and words for the other side."""
    return {"input_features": torch.randn(2, 16, 100), "decoder_input_ids": tokens(21)}


#: From a name to the class of the model, its configuration's class and arguments, and what makes its inputs.
MODELS = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"vocab_size": 99, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64}, words),
    "llama": ("LlamaForCausalLM", "LlamaConfig", GROUPED, words),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", GROUPED, words),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", WITH_HEADS, words),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", WITH_HEADS, words),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", WITH_HEADS, words),
    "mistral": ("MistralForCausalLM", "MistralConfig", GROUPED, words),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", {**GROUPED, "num_local_experts": 4}, words),
    "gpt-oss": ("GptOssForCausalLM", "GptOssConfig", {**WITH_HEADS, "num_local_experts": 4, "num_experts_per_tok": 2}, words),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", {**GROUPED, "pad_token_id": 0}, words),
    "olmo2": ("Olmo2ForCausalLM", "Olmo2Config", SIZES, words),
    "cohere": ("CohereForCausalLM", "CohereConfig", GROUPED, words),
    "falcon": ("FalconForCausalLM", "FalconConfig", {key: SIZES[key] for key in list(SIZES)[:4]}, words),
    "opt": ("OPTForCausalLM", "OPTConfig",
            {**{key: SIZES[key] for key in list(SIZES)[:4]}, "ffn_dim": 128, "word_embed_proj_dim": 64}, words),
    "bloom": ("BloomForCausalLM", "BloomConfig", {"vocab_size": 99, "hidden_size": 64, "n_layer": 2, "n_head": 4}, words),
    "gpt-neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", SIZES, words),
    "mamba": ("MambaForCausalLM", "MambaConfig", {"vocab_size": 99, "hidden_size": 64, "num_hidden_layers": 2}, words),
    "bert": ("BertForMaskedLM", "BertConfig", SIZES, words),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", SIZES, words),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertConfig",
                   {"vocab_size": 99, "dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128}, words),
    "deberta": ("DebertaV2ForMaskedLM", "DebertaV2Config",
                {**SIZES, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, words),
    "albert": ("AlbertForMaskedLM", "AlbertConfig", {**SIZES, "embedding_size": 32}, words),
    "electra": ("ElectraForMaskedLM", "ElectraConfig", {**SIZES, "embedding_size": 32}, words),
    "t5": ("T5ForConditionalGeneration", "T5Config",
           {"vocab_size": 99, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4}, pairs),
    "bart": ("BartForConditionalGeneration", "BartConfig", TWO_SIDES, pairs),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig",
                {**TWO_SIDES, "num_mel_bins": 16, "max_source_positions": 50, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
                 "decoder_start_token_id": 1}, sound),
    "vit": ("ViTForImageClassification", "ViTConfig", VISION, images),
    "swin": ("SwinForImageClassification", "SwinConfig",
             {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}, images),
    "convnext": ("ConvNextForImageClassification", "ConvNextConfig", {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 2, 1]},
                 lambda: images(64)),
    "resnet": ("ResNetForImageClassification", "ResNetConfig",
               {"embedding_size": 16, "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1]}, lambda: images(64)),
    "clip": ("CLIPModel", "CLIPConfig",
             {"text_config": {**SIZES, "max_position_embeddings": 64}, "vision_config": VISION, "projection_dim": 32},
             lambda: {**words(), **images()}),
    "wav2vec2": ("Wav2Vec2Model", "Wav2Vec2Config",
                 {**{key: SIZES[key] for key in list(SIZES)[1:]}, "conv_dim": (32, 32), "conv_stride": (5, 2), "conv_kernel": (10, 3),
                  "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
                  "mask_time_prob": 0.0}, lambda: {"input_values": torch.randn(2, 800)}),
    "dinov2": ("Dinov2Model", "Dinov2Config",
               {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 28, "patch_size": 7},
               lambda: images(28)),
}


def result_and_gradients(run, model, inputs, gradient=None):
    """The main result of a model and the gradients of its weights, as one vector of float64."""
    model.zero_grad()
    output = run(**inputs)
    found = [getattr(output, name, None) for name in ("logits", "last_hidden_state", "logits_per_image")]
    result = next((tensor for tensor in found if tensor is not None), output[0])
    gradient = torch.randn_like(result) if gradient is None else gradient.to(result.dtype)
    result.backward(gradient)
    gradients = [weight.grad.double().flatten() for weight in model.parameters() if weight.grad is not None]
    return result.detach().double(), torch.cat(gradients), gradient


def distance(found, exact):
    """The relative distance of two tensors."""
    return ((found - exact).norm() / exact.norm()).item()


def check(name, device, dtype):
    """Distances of result and gradients to float64, those of the model that is not compiled, and the seconds of the first run."""
    model_class, config_class, arguments, inputs_of = MODELS[name]
    torch.manual_seed(3)
    torch._dynamo.reset()
    model = getattr(transformers, model_class)(getattr(transformers, config_class)(**arguments)).to(device, dtype).eval()
    inputs = {key: value.to(device) for key, value in inputs_of().items()}

    def cast(to):
        return {key: value.to(to) if value.is_floating_point() else value for key, value in inputs.items()}

    *eager, gradient = result_and_gradients(model, model, cast(dtype))
    twin = copy.deepcopy(model).double()
    *exact, _ = result_and_gradients(twin, twin, cast(torch.float64), gradient)
    begin = time.perf_counter()
    *compiled, _ = result_and_gradients(torch.compile(model), model, cast(dtype), gradient)
    seconds = time.perf_counter() - begin
    return [distance(*both) for both in zip(compiled, exact)], [distance(*both) for both in zip(eager, exact)], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="*", default=list(MODELS), help=", ".join(MODELS))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    if args.device == "cpu":
        import torch._inductor.config as config

        config.cpu_backend = "triton"
    wrong = 0
    for name in args.model:
        for dtype in (torch.float32, torch.bfloat16):
            shown = f"{name} {str(dtype).removeprefix('torch.')}"
            try:
                compiled, eager, seconds = check(name, args.device, dtype)
            except Exception as error:  # noqa: BLE001: the other models go on
                wrong += 1
                print(f"{shown}: {type(error).__name__}: {error}"[:500].replace("\n", " | "), flush=True)
                continue
            is_right = all(ours <= 2 * theirs + LEAST[dtype] for ours, theirs in zip(compiled, eager))
            wrong += not is_right
            print(f"{shown}: result {compiled[0]:.1e} (eager {eager[0]:.1e}), gradients {compiled[1]:.1e} ({eager[1]:.1e}), "
                  f"{seconds:.1f} s{'' if is_right else ': WRONG'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
