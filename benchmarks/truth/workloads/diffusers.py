"""diffusers: denoisers and autoencoders from small configurations trained, every scheduler stepped, pipelines run."""

from __future__ import annotations

import diffusers
import torch
import torch.nn.functional as F
import transformers
from diffusers import training_utils

from truth import Package, bound, case, step, workload

PACKAGE = Package("diffusers==0.42.1", extra=("transformers==5.23.0", "accelerate", "scipy", "ftfy"), seconds=600)
DEVICE = "cuda"


def _unet():
    return diffusers.UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(16, 16),
        norm_num_groups=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip


def _conditional(**more):
    return diffusers.UNet2DConditionModel(
        sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(16, 16), norm_num_groups=4,
        cross_attention_dim=32, attention_head_dim=4, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **more,
    )  # fmt: skip


def _coder(latents=4):
    return diffusers.AutoencoderKL(
        in_channels=3, out_channels=3, latent_channels=latents, block_out_channels=(16, 16), layers_per_block=1, norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, sample_size=16,
    )  # fmt: skip


@workload
def schedulers():
    names = """DDPMScheduler DDIMScheduler PNDMScheduler LMSDiscreteScheduler EulerDiscreteScheduler HeunDiscreteScheduler
        EulerAncestralDiscreteScheduler DPMSolverMultistepScheduler DPMSolverSinglestepScheduler KDPM2DiscreteScheduler
        KDPM2AncestralDiscreteScheduler UniPCMultistepScheduler DEISMultistepScheduler DDIMInverseScheduler LCMScheduler
        FlowMatchEulerDiscreteScheduler FlowMatchHeunDiscreteScheduler TCDScheduler EDMEulerScheduler SASolverScheduler
        EDMDPMSolverMultistepScheduler DDPMParallelScheduler DDIMParallelScheduler IPNDMScheduler ConsistencyDecoderScheduler
        EulerDiscreteScheduler:karras DPMSolverMultistepScheduler:sde CMStochasticIterativeScheduler AmusedScheduler
        DPMSolverMultistepInverseScheduler ScoreSdeVeScheduler RePaintScheduler UnCLIPScheduler""".split()
    options = {"karras": {"use_karras_sigmas": True}, "sde": {"algorithm_type": "sde-dpmsolver++"}}
    for name in names:
        kind, _, way = name.partition(":")
        if kind in ("ConsistencyDecoderScheduler", "AmusedScheduler", "ScoreSdeVeScheduler", "RePaintScheduler"):
            continue
        with case(name):
            scheduler = getattr(diffusers, kind)(**options.get(way, {}))
            for _ in range(2):
                scheduler.set_timesteps(8, device=DEVICE)
                sample = torch.randn(2, 4, 8, 8, device=DEVICE) * getattr(scheduler, "init_noise_sigma", 1.0)
                for t in scheduler.timesteps:
                    with step("denoise"), torch.no_grad():
                        given = (
                            scheduler.scale_model_input(sample, t)
                            if hasattr(scheduler, "scale_model_input")
                            else sample
                        )
                        sample = scheduler.step(given * 0.1, t, sample).prev_sample
            if hasattr(scheduler, "add_noise") and "Flow" not in kind:
                for _ in range(5):
                    clean, noise = torch.randn(2, 4, 8, 8, device=DEVICE), torch.randn(2, 4, 8, 8, device=DEVICE)
                    places = scheduler.timesteps[torch.randint(0, len(scheduler.timesteps), (2,))]
                    with step("add noise"):
                        scheduler.add_noise(clean, noise, places)


def _denoise(name, make, shape, more=lambda: {}, turns=5):
    """Training of a denoiser, as the examples have it, and its use."""
    with case(name):
        model, noising = make().to(DEVICE), diffusers.DDPMScheduler(num_train_timesteps=100)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
        schedule = diffusers.optimization.get_cosine_schedule_with_warmup(optimizer, 2, 20)
        average = training_utils.EMAModel(model.parameters(), decay=0.99)
        average.to(DEVICE)
        model.train()
        for _ in range(turns):
            clean = torch.randn(*shape)
            with step("train"):
                clean = clean.to(DEVICE)
                noise = torch.randn_like(clean)
                t = torch.randint(0, 100, (shape[0],), device=DEVICE)
                noisy = noising.add_noise(clean, noise, t)
                found = model(noisy, timestep=t, **more(), return_dict=False)[0]
                loss = F.mse_loss(found, noise if found.shape == noise.shape else torch.zeros_like(found))
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
                average.step(model.parameters())
        model.eval()
        with torch.no_grad():
            for t in torch.arange(90, 10, -20, device=DEVICE):
                with step("sample"):
                    model(torch.randn(*shape, device=DEVICE), timestep=t.expand(shape[0]), **more())


def _text(*shape):
    return torch.randn(*shape, device=DEVICE)


@workload
def denoisers():
    _denoise("unet", _unet, (2, 3, 16, 16))
    _denoise("conditional unet", _conditional, (2, 4, 16, 16), lambda: {"encoder_hidden_states": _text(2, 6, 32)})
    _denoise(
        "unet of classes",
        lambda: _conditional(num_class_embeds=5),
        (2, 4, 16, 16),
        lambda: {"encoder_hidden_states": _text(2, 6, 32), "class_labels": torch.randint(0, 5, (2,), device=DEVICE)},
    )
    _denoise(
        "unet of one dimension",
        lambda: diffusers.UNet1DModel(
            sample_size=64,
            in_channels=2,
            out_channels=2,
            layers_per_block=1,
            block_out_channels=(16, 16),
            down_block_types=("DownBlock1DNoSkip", "DownBlock1D"),
            up_block_types=("UpBlock1D", "UpBlock1DNoSkip"),
            extra_in_channels=32,
        ),
        (2, 2, 64),
    )
    _denoise(
        "unet of videos",
        lambda: diffusers.UNet3DConditionModel(
            sample_size=8,
            in_channels=4,
            out_channels=4,
            layers_per_block=1,
            block_out_channels=(32, 32),
            norm_num_groups=8,
            cross_attention_dim=16,
            attention_head_dim=8,
            down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
            up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"),
        ),
        (1, 4, 3, 8, 8),
        lambda: {"encoder_hidden_states": _text(1, 6, 16)},
        turns=4,
    )
    _denoise(
        "dit",
        lambda: diffusers.DiTTransformer2DModel(
            num_attention_heads=2,
            attention_head_dim=8,
            in_channels=4,
            out_channels=8,
            num_layers=2,
            sample_size=8,
            patch_size=2,
            num_embeds_ada_norm=100,
            norm_num_groups=4,
        ),
        (2, 4, 8, 8),
        lambda: {"class_labels": torch.randint(0, 50, (2,), device=DEVICE)},
    )
    _denoise(
        "pixart",
        lambda: diffusers.PixArtTransformer2DModel(
            num_attention_heads=2,
            attention_head_dim=8,
            in_channels=4,
            out_channels=8,
            num_layers=2,
            cross_attention_dim=16,
            sample_size=8,
            patch_size=2,
            caption_channels=16,
            use_additional_conditions=False,
        ),
        (2, 4, 8, 8),
        lambda: {
            "encoder_hidden_states": _text(2, 6, 16),
            "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
        },
    )
    _denoise(
        "sd3",
        lambda: diffusers.SD3Transformer2DModel(
            sample_size=8,
            patch_size=2,
            in_channels=4,
            num_layers=2,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=16,
            caption_projection_dim=16,
            pooled_projection_dim=16,
            out_channels=4,
            pos_embed_max_size=16,
        ),
        (2, 4, 8, 8),
        lambda: {"encoder_hidden_states": _text(2, 6, 16), "pooled_projections": _text(2, 16)},
    )
    with case("flux"):
        model = diffusers.FluxTransformer2DModel(
            patch_size=1,
            in_channels=4,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=16,
            pooled_projection_dim=16,
            axes_dims_rope=(4, 4, 8),
            guidance_embeds=True,
        ).to(DEVICE)
        for _ in range(5):
            with step("train"):
                model(
                    hidden_states=_text(1, 16, 4),
                    encoder_hidden_states=_text(1, 6, 16),
                    pooled_projections=_text(1, 16),
                    timestep=torch.rand(1, device=DEVICE),
                    img_ids=torch.zeros(16, 3, device=DEVICE),
                    txt_ids=torch.zeros(6, 3, device=DEVICE),
                    guidance=torch.ones(1, device=DEVICE),
                ).sample.pow(2).mean().backward()
    with case("prior"):
        model = diffusers.PriorTransformer(
            num_attention_heads=2,
            attention_head_dim=8,
            num_layers=1,
            embedding_dim=16,
            num_embeddings=6,
            additional_embeddings=4,
        ).to(DEVICE)
        for _ in range(4):
            with step("train"):
                model(
                    _text(2, 16),
                    torch.randint(0, 10, (2,), device=DEVICE),
                    _text(2, 16),
                    _text(2, 6, 16),
                    torch.ones(2, 6, dtype=torch.bool, device=DEVICE),
                ).predicted_image_embedding.sum().backward()
    with case("controlnet"):
        unet = _conditional().to(DEVICE)
        control = diffusers.ControlNetModel.from_unet(unet, conditioning_embedding_out_channels=(8, 16)).to(DEVICE)
        for _ in range(5):
            noisy, t, text = _text(2, 4, 16, 16), torch.randint(0, 100, (2,), device=DEVICE), _text(2, 6, 32)
            with step("train"):
                down, middle = control(
                    noisy,
                    t,
                    encoder_hidden_states=text,
                    controlnet_cond=torch.rand(2, 3, 32, 32, device=DEVICE),
                    return_dict=False,
                )
                unet(
                    noisy,
                    t,
                    encoder_hidden_states=text,
                    down_block_additional_residuals=down,
                    mid_block_additional_residual=middle,
                ).sample.pow(2).mean().backward()
    with case("attention in slices, checkpoints"):
        unet = _conditional().to(DEVICE).train()
        unet.enable_gradient_checkpointing()
        unet.set_attention_slice("auto")
        for _ in range(4):
            with step("train"):
                unet(_text(2, 4, 16, 16), 7, encoder_hidden_states=_text(2, 6, 32)).sample.sum().backward()
    for name, make, shape in (
        ("autoencoder", _coder, (2, 3, 16, 16)),
        ("vq autoencoder", lambda: diffusers.VQModel(block_out_channels=(16, 16), norm_num_groups=4, layers_per_block=1, num_vq_embeddings=16, down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2), (2, 3, 16, 16)),
        ("tiny autoencoder", lambda: diffusers.AutoencoderTiny(encoder_block_out_channels=(8, 8), decoder_block_out_channels=(8, 8), num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1)), (2, 3, 16, 16)),
        ("video autoencoder", lambda: diffusers.AutoencoderKLTemporalDecoder(block_out_channels=(32,), layers_per_block=1, down_block_types=("DownEncoderBlock2D",), sample_size=16), (3, 3, 16, 16)),
    ):  # fmt: skip
        with case(name):
            model = make().to(DEVICE)
            extra = {"num_frames": 3} if name == "video autoencoder" else {}
            for _ in range(4):
                pictures = torch.randn(*shape)
                with step("train"):
                    pictures = pictures.to(DEVICE)
                    F.mse_loss(model(pictures, **extra).sample, pictures).backward()
            if name == "autoencoder":
                model.enable_slicing()
                model.enable_tiling()
                with torch.no_grad():
                    for _ in range(4):
                        with step("code"):
                            latents = model.encode(torch.randn(2, 3, 40, 40, device=DEVICE)).latent_dist.sample()
                            model.decode(latents)


def _run(name, make, call, turns=3):
    """A pipeline called some times; a step is a call."""
    with case(name):
        pipe = make().to(DEVICE)
        pipe.set_progress_bar_config(disable=True)
        for turn in range(turns):
            with step("call"):
                call(pipe, torch.Generator(DEVICE).manual_seed(turn))


def _clip():
    config = transformers.CLIPTextConfig(
        vocab_size=99,
        hidden_size=32,
        intermediate_size=37,
        num_attention_heads=4,
        num_hidden_layers=2,
        max_position_embeddings=16,
        pad_token_id=1,
        eos_token_id=2,
    )
    return transformers.CLIPTextModel(config)


def _stable(kind=None, **more):
    kind = kind or diffusers.StableDiffusionPipeline
    return kind(
        vae=_coder(),
        text_encoder=_clip(),
        tokenizer=None,
        unet=_conditional(),
        scheduler=diffusers.DDIMScheduler(steps_offset=1, clip_sample=False),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
        **more,
    )


def _prompt(n=1):
    return {
        "prompt_embeds": _text(n, 8, 32),
        "negative_prompt_embeds": _text(n, 8, 32),
        "num_inference_steps": 3,
        "output_type": "np",
    }


@workload
def pipelines():
    _run(
        "ddpm",
        lambda: diffusers.DDPMPipeline(_unet(), diffusers.DDPMScheduler()),
        lambda pipe, g: pipe(batch_size=2, generator=g, num_inference_steps=4),
    )
    _run(
        "ddim",
        lambda: diffusers.DDIMPipeline(_unet(), diffusers.DDIMScheduler()),
        lambda pipe, g: pipe(generator=g, num_inference_steps=4, eta=0.5),
    )
    _run("stable diffusion", _stable, lambda pipe, g: pipe(**_prompt(), generator=g, height=32, width=32))
    _run(
        "image to image",
        lambda: _stable(diffusers.StableDiffusionImg2ImgPipeline),
        lambda pipe, g: pipe(
            **{**_prompt(), "num_inference_steps": 5}, image=torch.rand(1, 3, 32, 32), strength=0.8, generator=g
        ),
    )

    def inpaint():
        return _stable(diffusers.StableDiffusionInpaintPipeline)

    _run(
        "inpainting",
        inpaint,
        lambda pipe, g: pipe(
            **_prompt(),
            image=torch.rand(1, 3, 32, 32),
            mask_image=(torch.rand(1, 1, 32, 32) > 0.5).float(),
            height=32,
            width=32,
            generator=g,
        ),
    )
    _run(
        "latent upscaling with callbacks",
        _stable,
        lambda pipe, g: pipe(
            **_prompt(),
            generator=g,
            height=32,
            width=32,
            guidance_rescale=0.5,
            callback_on_step_end=lambda pipe, i, t, kept: kept,
        ),
    )

    def control():
        made = _stable()
        return diffusers.StableDiffusionControlNetPipeline(
            **{k: v for k, v in made.components.items() if k not in ("image_encoder",)},
            controlnet=diffusers.ControlNetModel.from_unet(made.unet, conditioning_embedding_out_channels=(8, 16)),
            requires_safety_checker=False,
        )

    _run(
        "controlled",
        control,
        lambda pipe, g: pipe(**_prompt(), image=torch.rand(1, 3, 32, 32), generator=g, height=32, width=32),
    )
    _run(
        "dit",
        lambda: diffusers.DiTPipeline(
            diffusers.DiTTransformer2DModel(
                num_attention_heads=2,
                attention_head_dim=8,
                in_channels=4,
                out_channels=8,
                num_layers=2,
                sample_size=8,
                patch_size=2,
                num_embeds_ada_norm=1001,
                norm_num_groups=4,
            ),
            _coder(),
            diffusers.DDIMScheduler(),
        ),
        lambda pipe, g: pipe(class_labels=[1, 2], generator=g, num_inference_steps=3, output_type="np"),
    )
    _run(
        "flux",
        lambda: diffusers.FluxPipeline(
            scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
            vae=_coder(1),
            text_encoder=None,
            tokenizer=None,
            text_encoder_2=None,
            tokenizer_2=None,
            transformer=diffusers.FluxTransformer2DModel(
                patch_size=1,
                in_channels=4,
                num_layers=1,
                num_single_layers=1,
                attention_head_dim=16,
                num_attention_heads=2,
                joint_attention_dim=16,
                pooled_projection_dim=16,
                axes_dims_rope=(4, 4, 8),
            ),
        ),
        lambda pipe, g: pipe(
            prompt_embeds=_text(1, 6, 16),
            pooled_prompt_embeds=_text(1, 16),
            num_inference_steps=3,
            height=16,
            width=16,
            generator=g,
            output_type="latent",
        ),
    )
    with case("offloaded"):
        pipe = _stable()
        pipe.enable_model_cpu_offload(device=DEVICE)
        pipe.set_progress_bar_config(disable=True)
        bound(pipe.unet, "denoise")
        for _ in range(2):
            pipe(**_prompt(), height=32, width=32)
