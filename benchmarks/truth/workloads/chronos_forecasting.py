"""chronos-forecasting: forecasting models from small configurations, trained and asked for forecasts."""

from __future__ import annotations

import chronos
import torch
import transformers
from chronos.chronos import ChronosConfig, ChronosModel
from chronos.chronos_bolt import ChronosBoltModelForForecasting

from truth import Package, case, step, workload

PACKAGE = Package("chronos-forecasting==2.3.2", imports=("chronos",), kept_out=True, seconds=300)
DEVICE = "cuda"
T5 = {
    "d_model": 32,
    "d_ff": 64,
    "d_kv": 8,
    "num_layers": 2,
    "num_heads": 4,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
    "is_encoder_decoder": True,
}


def _series(n=2):
    return [torch.rand(int(torch.randint(20, 50, ()))).cumsum(0) for _ in range(n)]


def _tokens_model():
    settings = ChronosConfig(
        tokenizer_class="MeanScaleUniformBins",
        tokenizer_kwargs={"low_limit": -15.0, "high_limit": 15.0},
        context_length=48,
        prediction_length=8,
        n_tokens=64,
        n_special_tokens=2,
        pad_token_id=0,
        eos_token_id=1,
        use_eos_token=True,
        model_type="seq2seq",
        num_samples=4,
        temperature=1.0,
        top_k=20,
        top_p=1.0,
    )
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=64, **T5))
    model.generation_config.decoder_start_token_id = 0
    return settings, model


@workload
def forecasts():
    with case("by tokens"):
        settings, model = _tokens_model()
        pipe = chronos.ChronosPipeline(
            tokenizer=settings.create_tokenizer(), model=ChronosModel(config=settings, model=model.to(DEVICE))
        )
        for _ in range(4):
            with step("predict"):
                pipe.predict(_series(), prediction_length=8)
            with step("quantiles"):
                pipe.predict_quantiles(_series(), prediction_length=12, quantile_levels=[0.1, 0.5, 0.9])
        for _ in range(3):
            with step("embed"):
                pipe.embed(_series())
    with case("training by tokens"):
        settings, model = _tokens_model()
        tokenizer = settings.create_tokenizer()
        model.to(DEVICE)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        for _ in range(6):
            context, future = torch.rand(2, 48), torch.rand(2, 8)
            with step("train"):
                tokens, mask, scale = tokenizer.context_input_transform(context)
                labels, kept = tokenizer.label_input_transform(future, scale)
                labels[kept == 0] = -100
                model(
                    input_ids=tokens.to(DEVICE), attention_mask=mask.to(DEVICE), labels=labels.to(DEVICE)
                ).loss.backward()
                optimizer.step()
                optimizer.zero_grad()

    def bolt():
        config = transformers.T5Config(vocab_size=2, **T5, reg_token_id=1)
        config.chronos_config = {
            "context_length": 48,
            "prediction_length": 8,
            "input_patch_size": 8,
            "input_patch_stride": 8,
            "quantiles": [0.1, 0.5, 0.9],
            "use_reg_token": True,
        }
        return ChronosBoltModelForForecasting(config).to(DEVICE)

    with case("bolt"):
        pipe = chronos.ChronosBoltPipeline(bolt())
        for _ in range(4):
            with step("predict"):
                pipe.predict(_series(), prediction_length=8)
            with step("quantiles"):
                pipe.predict_quantiles(_series(), prediction_length=12, quantile_levels=[0.1, 0.5, 0.9])
    with case("training of bolt"):
        model = bolt()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        for _ in range(6):
            context, future = torch.rand(2, 48).to(DEVICE), torch.rand(2, 8).to(DEVICE)
            with step("train"):
                model(context=context, target=future).loss.backward()
                optimizer.step()
                optimizer.zero_grad()

    def second():
        from chronos.chronos2.config import Chronos2CoreConfig

        config = Chronos2CoreConfig(
            d_model=32,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_heads=4,
            chronos_config={
                "context_length": 48,
                "output_patch_size": 8,
                "input_patch_size": 8,
                "input_patch_stride": 8,
                "quantiles": [n / 10 for n in range(1, 10)],
                "use_reg_token": True,
                "use_arcsinh": True,
                "max_output_patches": 4,
                "time_encoding_scale": 48,
            },
        )
        return chronos.chronos2.Chronos2Model(config).to(DEVICE)

    with case("chronos 2"):
        pipe = chronos.Chronos2Pipeline(second())
        for _ in range(4):
            with step("predict"):
                pipe.predict([one[None] for one in _series()], prediction_length=8)
            with step("with covariates"):
                pipe.predict(
                    [
                        {
                            "target": torch.rand(30).numpy(),
                            "past_covariates": {"a": torch.rand(30).numpy()},
                            "future_covariates": {"a": torch.rand(8).numpy()},
                        }
                    ],
                    prediction_length=8,
                )
    with case("training of chronos 2"):
        model = second()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        for _ in range(6):
            context, future = torch.rand(2, 48).to(DEVICE), torch.rand(2, 8).to(DEVICE)
            with step("train"):
                model(context=context, future_target=future, num_output_patches=1).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
