"""pypots: models of series with gaps, fitted and used to impute, classify, forecast, cluster and find anomalies."""

from __future__ import annotations

import inspect

import numpy as np
from pypots import anomaly_detection, classification, clustering, forecasting, imputation, representation

from truth import Package, bound, case, workload
from truth.drive import DEVICE

PACKAGE = Package("pypots==1.5", kept_out=True, seconds=600)
STEPS, FEATURES = 16, 4
SIZES = {
    **{"n_steps": STEPS, "n_features": FEATURES, "n_pred_steps": 4, "n_pred_features": FEATURES, "n_classes": 2, "n_clusters": 2},
    **dict.fromkeys(("n_layers", "n_encoder_layers", "n_decoder_layers", "n_hidden_layers", "n_stacks", "n_groups", "n_blocks"), 1),
    **dict.fromkeys(("d_model", "d_embedding", "embed_size", "d_input_embed", "d_dynamic", "n_channels"), 16),
    **dict.fromkeys(("d_ffn", "d_hidden", "hidden_size", "rnn_hidden_size", "latent_size", "d_block_hidden", "d_residual_hidden"), 16),
    **dict.fromkeys(("d_feature_embed", "d_learnable_embed", "d_proj", "d_pe", "d_feature_encode", "d_temporal_decoder_hidden"), 8),
    **dict.fromkeys(("d_time_embedding", "d_feature_embedding", "d_diffusion_embedding", "d_mu_stddev", "d_rnn_hidden"), 16),
    **dict.fromkeys(("n_heads", "n_temporal_heads", "factor", "top_k", "n_kernels", "n_residual_layers", "n_levels", "n_hashes"), 2),
    **dict.fromkeys(("d_k", "d_v", "n_embeddings", "n_seg_steps", "seg_len", "bucket_size", "patch_size"), 8),
    **{"patch_stride": 8, "moving_avg_window_size": 3, "win_size": 2, "cut_freq": 4, "kernel_size": 3, "causal": False, "dropout": 0.1},
    **{"attn_dropout": 0.1, "window_size": [2, 2], "multiscale": [1, 2], "conv_kernel": [4, 8], "inner_size": 3},
    **{"d_projector_hidden": [16, 16], "n_projector_hidden_layers": 2, "modes": 4, "modes1": 4, "downsampling_layers": 1, "term": "short"},
    **{"n_diffusion_steps": 4, "imputation_weight": 0.3, "consistency_weight": 0.1, "removal_percent": 10, "increase_factor": 0.1},
    **{"step_channels": 16, "downsampling_ratio": 2, "ffn_ratio": 1, "num_blocks": [1], "large_size": [5], "small_size": [3], "dims": [8]},
    **{"n_generator_layers": 1, "decoder_fcn_output_dims": [16], "lambda_kl": 1.0, "n_seg": 2, "n_iter": 1, "n_output_dims": 16, "depth": 2},
    **{"n_phi_layers": 1, "d_phi_ffn": 16, "n_rho_layers": 1, "d_rho_ffn": 16, "d_rho_output": 16, "d_prod": 8, "max_timescale": 10},
    **{"n_rho_decoder_layers": 1, "d_rho_decoder_ffn": 16, "n_psi_layers": 1, "d_psi_ffn": 16, "d_psi_output": 16, "d_dot_prod_attention": 8},
    **{"d_rnn_latent": 16, "aggregation_mode": "mean", "anomaly_rate": 0.1, "individual": False},
}  # fmt: skip
WITHOUT = {"GPT4TS", "MOMENT", "TimeLLM", "TRMF", "BTTF"}  # weights from elsewhere, or no network


def _series(rows=24):
    x = np.random.randn(rows, STEPS, FEATURES).astype("float32")
    gaps = x.copy()
    gaps[np.random.rand(*x.shape) < 0.2] = np.nan
    return gaps, x


def _make(kind):
    known = {name: value for name, value in SIZES.items() if name in inspect.signature(kind).parameters}
    return kind(**known, batch_size=8, epochs=2, device=DEVICE, verbose=False)


def _all(package, fit, valid, use):
    for name in package.__all__:
        kind = getattr(package, name)
        if name in WITHOUT or "epochs" not in inspect.signature(kind).parameters:
            continue
        with case(name):
            model = _make(kind)
            bound(model.model, "step")
            model.fit(fit(), valid()) if valid is not None else model.fit(fit())
            use(model)


@workload
def imputing():
    def valid():
        gaps, x = _series(8)
        return {"X": gaps, "X_ori": x}

    _all(imputation, lambda: {"X": _series()[0]}, valid, lambda model: model.impute({"X": _series(8)[0]}))


@workload
def classifying():
    def labelled(rows=24):
        return {"X": _series(rows)[0], "y": np.random.randint(0, 2, rows)}

    _all(classification, labelled, lambda: labelled(8), lambda model: model.predict({"X": _series(8)[0]}))
    _all(clustering, lambda: {"X": _series()[0]}, None, lambda model: model.cluster({"X": _series(8)[0]}))
    _all(representation, lambda: {"X": _series()[0]}, None, lambda model: model.represent({"X": _series(8)[0]}))


@workload
def forecasting_and_judging():
    def coming(rows=24):
        return {"X": _series(rows)[0], "X_pred": np.random.randn(rows, 4, FEATURES).astype("float32")}

    def judged(rows=24):
        gaps, x = _series(rows)
        return {"X": gaps, "X_ori": x, "anomaly_y": np.random.randint(0, 2, (rows, STEPS))}

    _all(forecasting, coming, lambda: coming(8), lambda model: model.predict({"X": _series(8)[0]}))
    _all(anomaly_detection, judged, lambda: judged(8), lambda model: model.predict({"X": _series(8)[0]}))
