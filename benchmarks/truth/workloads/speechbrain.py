"""speechbrain: recognisers, enhancers and vocoders trained, their layers, losses, augmentation and decoding."""

from __future__ import annotations

import speechbrain as sb
import torch
from speechbrain.nnet import CNN, RNN, attention, losses, normalization, pooling

from truth import Package, bound, case, step, workload
from truth.drive import DEVICE, calls, train

PACKAGE = Package("speechbrain==1.1.2", seconds=500)


def _waves(rows=2, length=8000):
    return torch.randn(rows, length, device=DEVICE) * 0.1


def _lengths(rows=2):
    """Relative lengths, the longest 1."""
    return torch.cat([torch.ones(1), 0.5 + torch.rand(rows - 1) / 2]).to(DEVICE)


def _features(width=40, time=50, rows=2):
    return torch.randn(rows, time, width, device=DEVICE)


@workload
def layers():
    shape = (None, None, 40)
    for name, make in (
        ("conv1d", lambda: CNN.Conv1d(8, 3, input_shape=shape)),
        ("conv1d causal", lambda: CNN.Conv1d(8, 3, input_shape=shape, padding="causal", weight_norm=True)),
        ("transposed", lambda: CNN.ConvTranspose1d(8, 3, input_shape=shape, stride=2)),
        ("separable", lambda: CNN.DepthwiseSeparableConv1d(8, 3, input_shape=shape)),
        ("rnn", lambda: RNN.RNN(16, input_shape=shape)),
        ("lstm", lambda: RNN.LSTM(16, input_shape=shape, bidirectional=True)),
        ("gru", lambda: RNN.GRU(16, input_shape=shape, num_layers=2)),
        ("ligru", lambda: RNN.LiGRU(16, (2, None, 40), bidirectional=True)),
        ("sligru", lambda: RNN.SLiGRU(16, (2, None, 40))),
        ("quasi", lambda: RNN.QuasiRNN(16, input_shape=shape)),
        ("layer norm", lambda: normalization.LayerNorm(input_shape=shape)),
        ("batch norm", lambda: normalization.BatchNorm1d(input_shape=shape)),
        ("group norm", lambda: normalization.GroupNorm(input_shape=shape, num_groups=4)),
        ("pcen", lambda: normalization.PCEN(40)),
        ("attention pooling", lambda: pooling.AttentionPooling(40)),
        ("gaussian pooling", lambda: pooling.GaussianLowpassPooling(40, 5, 2)),
        ("pooling", lambda: pooling.Pooling1d("max", 2)),
    ):
        train(name, make, lambda: (_features().abs(),))
    train("recurrent with lengths", lambda: RNN.GRU(16, input_shape=shape), lambda: (_features(), None, _lengths()))
    train("statistics", pooling.StatisticsPooling, lambda: (_features(), _lengths()))
    train("sinc", lambda: CNN.SincConv(8, 31, input_shape=(None, None)), lambda: (_waves(length=1600),))
    train("gabor", lambda: CNN.GaborConv1d(8, 31, 2, input_shape=(None, None)), lambda: (_waves(length=1600),))
    from speechbrain.nnet.complex_networks.c_CNN import CConv1d
    from speechbrain.nnet.complex_networks.c_normalization import CBatchNorm
    from speechbrain.nnet.complex_networks.c_RNN import CLSTM, CLiGRU
    from speechbrain.nnet.quaternion_networks.q_CNN import QConv1d
    from speechbrain.nnet.quaternion_networks.q_normalization import QBatchNorm
    from speechbrain.nnet.quaternion_networks.q_RNN import QLSTM, QLiGRU
    from speechbrain.nnet.unet import UNetModel

    for kind, shape in (
        (CConv1d, (2, 10, 40)), (QConv1d, (2, 10, 40)),
        (CLSTM, (2, 10, 40)), (CLiGRU, (2, 10, 40)), (QLSTM, (2, 10, 40)), (QLiGRU, (2, 10, 40)),
    ):  # fmt: skip
        more = (3,) if "Conv" in kind.__name__ else ()
        train(kind.__name__, lambda: kind(8, *more, input_shape=shape), lambda: (_features(40, 10),))
    train("CBatchNorm", lambda: CBatchNorm(input_shape=(2, 10, 40)), lambda: (_features(40, 10),))
    train("QBatchNorm", lambda: QBatchNorm(40), lambda: (_features(40, 10),))
    train(
        "unet",
        lambda: UNetModel(1, 16, 1, 1, [2], channel_mult=(1, 2), norm_num_groups=4, num_heads=2),
        lambda: (torch.randn(2, 1, 16, 16, device=DEVICE), torch.randint(0, 10, (2,), device=DEVICE)),
    )


@workload
def attending():
    from speechbrain.lobes.models.transformer.Branchformer import BranchformerEncoder
    from speechbrain.lobes.models.transformer.Conformer import ConformerEncoder
    from speechbrain.lobes.models.transformer.Transformer import TransformerDecoder, TransformerEncoder
    from speechbrain.lobes.models.transformer.TransformerASR import TransformerASR
    from speechbrain.lobes.models.transformer.TransformerLM import TransformerLM
    from speechbrain.lobes.models.transformer.TransformerSE import CNNTransformerSE
    from speechbrain.nnet.hypermixing import HyperMixing

    def encoded():
        return _features(16, 12), torch.tensor([12, 8], device=DEVICE), torch.randn(2, 8, device=DEVICE)

    def attended(model, states, lengths, query):
        """Some steps of decoding over the same states: what was computed of them is kept between steps."""
        model.reset()
        return torch.stack([model(states, lengths, query)[0].mean() for _ in range(3)]).sum()

    for kind, sizes in (
        (attention.ContentBasedAttention, ()), (attention.KeyValueAttention, ()),
        (attention.LocationAwareAttention, (4, 5)),
    ):  # fmt: skip
        train(kind.__name__, lambda: kind(16, 8, 8, 8, *sizes), encoded, loss=attended)
    train("self", lambda: attention.MultiheadAttention(4, 16), lambda: (_features(16),) * 3)
    train("rotary", lambda: attention.RoPEMHA(16, 4), lambda: (_features(16),) * 3)
    train("hypermixing", lambda: HyperMixing(16, 32), lambda: (_features(16),) * 3)
    train(
        "recurrent decoder",
        lambda: RNN.AttentionalRNNDecoder("gru", "location", 16, 8, 1, 16, 16, channels=4, kernel_size=5),
        lambda: (_features(16, 6), _features(16, 12), _lengths()),
    )
    train("encoder", lambda: TransformerEncoder(2, 4, 32, d_model=16), lambda: (_features(16),))
    train("decoder", lambda: TransformerDecoder(2, 4, 32, 16), lambda: (_features(16, 6), _features(16, 12)))
    train("enhancer", lambda: CNNTransformerSE(16, 16, num_layers=2, nhead=4, d_ffn=32), lambda: (_features(16),))
    train(
        "language model", lambda: TransformerLM(30, 16, 4, 2, 0, 32), lambda: (torch.randint(1, 30, (2, 9)).to(DEVICE),)
    )
    position = attention.RelPosEncXL(16).to(DEVICE)
    for name, kind in (("conformer", ConformerEncoder), ("branchformer", BranchformerEncoder)):
        sizes = (2, 16, 32, 4) if kind is ConformerEncoder else (2, 16, 4)
        train(
            name,
            lambda: kind(*sizes, kernel_size=5),
            lambda: {"src": (x := _features(16)), "pos_embs": position(x)},
        )
    for module in ("transformer", "conformer", "branchformer"):
        with case(f"recogniser {module}"):
            kind = "RelPosMHAXL" if module != "transformer" else "regularMHA"
            model = TransformerASR(
                30,
                40,
                16,
                4,
                2,
                2,
                32,
                encoder_module=module,
                attention_type=kind,
                kernel_size=5,
                causal=False,
                normalize_before=True,
            ).to(DEVICE)
            head = sb.nnet.linear.Linear(30, input_size=16).to(DEVICE)
            optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()])
            for _ in range(5):
                tokens, lengths = torch.randint(1, 30, (2, 7), device=DEVICE), _lengths()
                with step("train"):
                    hidden, decoded = model(_features(), tokens, lengths, pad_idx=0)
                    loss = losses.nll_loss(head(decoded).log_softmax(-1), tokens, length=lengths, label_smoothing=0.1)
                    loss = loss + losses.ctc_loss(head(hidden).log_softmax(-1), tokens, lengths, lengths, 0)
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
            from speechbrain.decoders.seq2seq import S2STransformerBeamSearcher, S2STransformerGreedySearcher

            model.eval()
            for search in (
                S2STransformerGreedySearcher([model, head], bos_index=1, eos_index=2, min_decode_ratio=0.0,
                                             max_decode_ratio=0.3),
                S2STransformerBeamSearcher([model, head], bos_index=1, eos_index=2, min_decode_ratio=0.0,
                                           max_decode_ratio=0.3, beam_size=3),
            ):  # fmt: skip
                for _ in range(3):
                    with step(type(search).__name__), torch.no_grad():
                        search(model.encode(_features(), _lengths()), _lengths())


@workload
def models():
    from speechbrain.lobes.models import (
        CRDNN,
        ECAPA_TDNN,
        RNNLM,
        Cnn14,
        ContextNet,
        EnhanceResnet,
        ESPnetVGG,
        GatedNN,
        HifiGAN,
        MetricGAN,
        ResNet,
        VanillaNN,
        Xvector,
        conv_tasnet,
        dual_path,
        resepformer,
        segan_model,
        wav2vec,
    )  # fmt: skip

    shape = (None, None, 40)
    for name, make in (
        ("crdnn", lambda: CRDNN.CRDNN(input_shape=shape, cnn_channels=[4, 8], rnn_layers=1, rnn_neurons=16,
                                      dnn_neurons=16)),
        ("vanilla", lambda: VanillaNN.VanillaNN(shape, dnn_neurons=16)),
        ("gated", lambda: GatedNN.GatedNN(shape, neurons=16)),
        ("contextnet", lambda: ContextNet.ContextNet(shape, 16, [8] * 3, num_blocks=3, num_layers=2, strides=[1, 2, 1],
                                                     residuals=[True] * 3)),
        ("vgg", lambda: ESPnetVGG.ESPnetVGG(shape, cnn_channels=[4, 8], rnn_layers=1, rnn_neurons=16,
                                            projection_neurons=16)),
        ("xvector", lambda: Xvector.Xvector(tdnn_blocks=2, tdnn_channels=[16, 16], tdnn_kernel_sizes=[3, 1],
                                            tdnn_dilations=[1, 1], in_channels=40, lin_neurons=16)),
        ("metricgan generator", lambda: MetricGAN.EnhancementGenerator(40, 200, 1)),
    ):  # fmt: skip
        train(name, make, lambda: (_features(),) if name != "metricgan generator" else (_features().abs(), _lengths()))
    train(
        "ecapa",
        lambda: ECAPA_TDNN.ECAPA_TDNN(40, "cpu", 16, channels=[16] * 4 + [48], attention_channels=8, se_channels=8),
        lambda: (_features(), _lengths()),
    )
    train("resnet", lambda: ResNet.ResNet(40, channels=[8] * 4, block_sizes=[1] * 4, lin_neurons=16),
          lambda: (_features(40, 64),))  # fmt: skip
    train("cnn14", lambda: Cnn14.Cnn14(40, 64), lambda: (_features(40, 64)[:, None],), turns=3, evaluate=1)
    train(
        "enhance resnet",
        lambda: EnhanceResnet.EnhanceResnet(channel_counts=[4, 4], dense_nodes=16),
        lambda: (_waves(),),
    )
    train("rnn language model", lambda: RNNLM.RNNLM(30, 16, rnn_neurons=16, dnn_neurons=16),
          lambda: (torch.randint(0, 30, (2, 9), device=DEVICE),))  # fmt: skip
    train("metricgan discriminator", MetricGAN.MetricDiscriminator, lambda: (torch.rand(2, 2, 60, 60).to(DEVICE),))
    train("tasnet", lambda: conv_tasnet.MaskNet(16, 8, 16, 3, 2, 1, 2, "gLN", False, "relu"),
          lambda: (torch.randn(2, 16, 60, device=DEVICE),))  # fmt: skip
    train("dual path", lambda: dual_path.Dual_Path_Model(
        16, 16, dual_path.SBTransformerBlock(1, 16, 4, 32), dual_path.SBTransformerBlock(1, 16, 4, 32), 1,
        K=10, num_spks=2), lambda: (torch.randn(2, 16, 60, device=DEVICE),))  # fmt: skip
    train("resource efficient", lambda: resepformer.ResourceEfficientSeparator(
        16, layer=1, unit=16, segment_size=10, mem_type="av",
        seg_model=resepformer.SBTransformerBlock_wnormandskip(1, 16, 4, 32),
        mem_model=resepformer.SBTransformerBlock_wnormandskip(1, 16, 4, 32)), lambda: (torch.randn(2, 16, 60, device=DEVICE),))  # fmt: skip
    train("hifigan", lambda: HifiGAN.HifiganGenerator(
        40, 1, "1", [[1, 3, 5]], [3], [8, 4], 32, [4, 2]), lambda: (_features(20, 40),))  # fmt: skip
    train("hifigan discriminator", HifiGAN.HifiganDiscriminator, lambda: (_waves()[:, None],), turns=3, evaluate=1)
    train("latent extractor", lambda: wav2vec.W2VLatentExtractor([16] * 7), lambda: (_waves(),))
    train("segan", lambda: segan_model.Discriminator(31), lambda: (torch.randn(2, 16384, 2, device=DEVICE),), turns=2,
          evaluate=1)  # fmt: skip


@workload
def training():
    """The loop of the toolkit itself, as its recipes use it."""
    from torch.utils.data import DataLoader

    class Recogniser(sb.Brain):
        def compute_forward(self, batch, stage):
            waves = batch[0].to(self.device)
            features = self.modules.norm(self.hparams.features(waves), _lengths(len(waves)))
            return self.modules.model(features).log_softmax(-1)

        def compute_objectives(self, predictions, batch, stage):
            tokens, lengths = batch[1].to(self.device), _lengths(len(batch[1]))
            if stage != sb.Stage.TRAIN:
                found = sb.decoders.ctc_greedy_decode(predictions, lengths, blank_id=0)
                self.errors.append([str(number) for number in batch[2]], [[str(x) for x in one] for one in found],
                                   [[str(x) for x in one] for one in batch[1].tolist()])  # fmt: skip
            return sb.nnet.losses.ctc_loss(predictions, tokens, lengths, lengths, 0)

        def on_stage_start(self, stage, epoch=None):
            self.errors = sb.utils.metric_stats.ErrorRateStats()

        def on_stage_end(self, stage, loss, epoch=None):
            if stage != sb.Stage.TRAIN:
                self.errors.summarize("error_rate")

    from speechbrain.lobes.features import Fbank
    from speechbrain.lobes.models.CRDNN import CRDNN
    from speechbrain.processing.features import InputNormalization

    for name, options in (("plain", {}), ("accumulating", {"grad_accumulation_factor": 2, "max_grad_norm": 1.0})):
        with case(name):
            model = torch.nn.Sequential(
                CRDNN(input_shape=(None, None, 40), cnn_channels=[4, 8], rnn_layers=1, rnn_neurons=16, dnn_neurons=16),
                torch.nn.Linear(16, 20),
            )
            brain = Recogniser(
                {"model": model, "norm": InputNormalization()}, lambda given: torch.optim.Adam(given, 1e-3),
                {"features": Fbank().to(DEVICE)}, {"device": DEVICE, "noprogressbar": True, **options},
            )  # fmt: skip
            data = [(torch.randn(12000) * 0.1, torch.randint(1, 20, (4,)), number) for number in range(12)]
            bound(brain.modules.model, "train")
            brain.fit(range(2), DataLoader(data, 2), DataLoader(data[:4], 2))
            brain.evaluate(DataLoader(data[:6], 2))


@workload
def signals():
    from speechbrain.augment import freq_domain, time_domain
    from speechbrain.augment.augmenter import Augmenter
    from speechbrain.lobes.features import MFCC, Fbank, Leaf, VocalFeatures
    from speechbrain.processing import features, multi_mic, signal_processing

    for name, make in (
        ("filter banks", Fbank), ("filter banks with deltas", lambda: Fbank(deltas=True, context=True)), ("mfcc", MFCC),
        ("leaf", lambda: Leaf(16, in_channels=1)), ("vocal", VocalFeatures),
        ("noise", lambda: time_domain.AddNoise(snr_low=5, snr_high=20)), ("random amplitude", time_domain.RandAmp),
        ("speed", lambda: time_domain.SpeedPerturb(16000)), ("resample", lambda: time_domain.Resample(16000, 8000)),
        ("drop frequencies", time_domain.DropFreq), ("clip", lambda: time_domain.DoClip(0.3, 0.7)),
        ("drop fast", lambda: time_domain.FastDropChunk(n_masks=10)), ("bits", time_domain.DropBitResolution),
        ("flip", time_domain.SignFlip), ("cut", time_domain.CutCat),
    ):  # fmt: skip
        with case(name):
            module = make().to(DEVICE)
            for _ in range(6):
                waves = _waves()
                with step("batch"):
                    module(waves, _lengths()) if name == "noise" else module(waves)
    calls("drop chunks", time_domain.DropChunk(), lambda: (_waves(), _lengths()))
    calls("drop channels", time_domain.ChannelDrop(0.5), lambda: (torch.randn(2, 800, 4, device=DEVICE),))
    calls("spectrogram drop", freq_domain.SpectrogramDrop(), lambda: (_features(),))
    calls("spectrogram warp", freq_domain.Warping(), lambda: (_features(),))
    calls("spectrogram shift", freq_domain.RandomShift(-3, 3), lambda: (_features(), _lengths()))
    with case("augmenter"):
        augment = Augmenter(
            min_augmentations=1, max_augmentations=2, concat_original=True, shuffle_augmentations=True,
            augmentations=[time_domain.DropFreq(), time_domain.DropChunk(), time_domain.SpeedPerturb(16000)],
        ).to(DEVICE)  # fmt: skip
        for _ in range(8):
            with step("batch"):
                augment(_waves(), _lengths())
    for kind in ("sentence", "batch", "global"):
        calls(f"normalise {kind}", features.InputNormalization(norm_type=kind), lambda: (_features(), _lengths()))
    calls("global norm", features.GlobalNorm(), lambda: (_features().transpose(1, 2), _lengths()))
    with case("analysis and synthesis"):
        analyse, synthesise = features.STFT(16000).to(DEVICE), features.ISTFT(16000).to(DEVICE)
        for _ in range(6):
            with step("batch"):
                found = analyse(_waves())
                signal_processing.resynthesize(features.spectral_magnitude(found, 0.5), _waves(), analyse, synthesise)
    with case("several microphones"):
        analyse, covariance = features.STFT(16000).to(DEVICE), multi_mic.Covariance().to(DEVICE)
        places = torch.tensor([[0.1, 0, 0], [0, 0.1, 0], [-0.1, 0, 0], [0, -0.1, 0.0]], device=DEVICE)
        delays, beams = multi_mic.GccPhat().to(DEVICE), multi_mic.DelaySum().to(DEVICE)
        direction = multi_mic.SrpPhat(mics=places, sample_rate=16000).to(DEVICE)
        gev, mvdr = multi_mic.Gev().to(DEVICE), multi_mic.Mvdr().to(DEVICE)
        for _ in range(4):
            waves = torch.randn(1, 4000, 4, device=DEVICE)
            with step("batch"):
                spectra = analyse(waves)
                covariances = covariance(spectra)
                found = delays(covariances)
                beams(spectra, found)
                mvdr(spectra, covariances, found)
                direction(covariances)
                gev(spectra, covariances, covariance(analyse(torch.randn_like(waves))))
    for name, function in (
        ("normalise", lambda x, n: signal_processing.normalize(x, n * x.shape[1], "peak")),
        ("rescale", lambda x, n: signal_processing.rescale(x, n * x.shape[1], -20.0, scale="dB")),
        ("amplitude", lambda x, n: signal_processing.compute_amplitude(x, n[:, None] * x.shape[1], scale="dB")),
        ("reverberate", lambda x, n: signal_processing.reverberate(x, torch.randn(200, device=DEVICE))),
    ):
        calls(name, function, lambda: (_waves(), _lengths()))


@workload
def measuring():
    from speechbrain.nnet.loss import guidedattn_loss, si_snr_loss, stoi_loss
    from speechbrain.utils import metric_stats

    def scores(classes=10):
        x = torch.randn(2, 7, classes, device=DEVICE, requires_grad=True).log_softmax(-1)
        return x, torch.randint(1, classes, (2, 7), device=DEVICE), _lengths()

    def numbers():
        return _features(4, 7).requires_grad_(), _features(4, 7), _lengths()

    for name, function, data in (
        ("nll", lambda x, y, n: losses.nll_loss(x, y, length=n, label_smoothing=0.1), scores),
        ("classification error", lambda x, y, n: losses.classification_error(x, y, length=n), scores),
        ("kl", lambda x, y, n: losses.kldiv_loss(x, y, length=n, label_smoothing=0.1), scores),
        ("ctc", lambda x, y, n: losses.ctc_loss(x, y[:, :3], n, n, 0), scores),
        ("mse", lambda x, y, n: losses.mse_loss(x, y, length=n), numbers),
        ("l1", lambda x, y, n: losses.l1_loss(x, y, length=n), numbers),
        ("bce", lambda x, y, n: losses.bce_loss(x[..., 0], y[..., 0].sigmoid(), length=n), numbers),
        ("pit", lambda x, y, n: losses.PitWrapper(torch.nn.MSELoss(reduction="none"))(x, y), numbers),
        ("si snr", lambda x, y, n: si_snr_loss.si_snr_loss(x[..., 0], y[..., 0], n), numbers),
        ("separation", lambda x, y, n: losses.get_si_snr_with_pitwrapper(x, y), numbers),
    ):
        calls(name, function, data, backward="error" not in name)
    calls(
        "stoi",
        lambda x, n: stoi_loss.stoi_loss(x, x + 0.1 * _waves(2, 24000), n),
        lambda: (_waves(2, 24000), _lengths()),
        turns=3,
    )
    calls("guided attention", guidedattn_loss.GuidedAttentionLoss(), lambda: (
        torch.rand(2, 9, 7, device=DEVICE), torch.tensor([7, 5], device=DEVICE), torch.tensor([9, 8], device=DEVICE)))  # fmt: skip
    with case("angular margin"):
        loss = losses.LogSoftmaxWrapper(losses.AdditiveAngularMargin(0.2, 30)).to(DEVICE)
        for _ in range(6):
            with step("train"):
                loss(torch.randn(4, 1, 10, device=DEVICE), torch.randint(0, 10, (4, 1), device=DEVICE))
    with case("statistics of a metric"):
        stats = metric_stats.MetricStats(
            lambda x, y, length, reduction: losses.nll_loss(x, y, length, reduction=reduction)
        )
        for number in range(6):
            x, y, lengths = scores()
            with step("append"):
                stats.append([f"{number}a", f"{number}b"], x, y, lengths, reduction="batch")
        stats.summarize()
    with case("binary statistics"):
        stats = metric_stats.BinaryMetricStats()
        for number in range(6):
            with step("append"):
                stats.append([str(number)], torch.rand(1, device=DEVICE), torch.ones(1, device=DEVICE))
                stats.append([f"{number}n"], torch.rand(1, device=DEVICE), torch.zeros(1, device=DEVICE))
        stats.summarize(threshold=0.5)
    from speechbrain.utils.metric_stats import EER, minDCF

    calls("equal error rate", EER, lambda: (torch.rand(20, device=DEVICE) + 0.3, torch.rand(20, device=DEVICE)))
    calls("detection cost", minDCF, lambda: (torch.rand(20, device=DEVICE) + 0.3, torch.rand(20, device=DEVICE)))
    calls("accuracy", sb.utils.Accuracy.Accuracy, scores)


@workload
def decoding():
    from speechbrain.decoders import ctc, seq2seq, transducer
    from speechbrain.nnet.embedding import Embedding
    from speechbrain.nnet.linear import Linear
    from speechbrain.nnet.transducer.transducer_joint import Transducer_joint

    words = ["<blank>", *"abcdefgh "]
    for kind in (ctc.CTCBeamSearcher, ctc.CTCPrefixBeamSearcher):
        search = kind(0, words, beam_size=8)
        calls(kind.__name__, search, lambda: (_features(10, 20).log_softmax(-1), _lengths()), turns=4, kind="decode")
    calls("ctc greedy", lambda x, n: ctc.ctc_greedy_decode(x, n, blank_id=0),
          lambda: (_features(10, 20).log_softmax(-1), _lengths()), kind="decode")  # fmt: skip
    with case("recurrent"):
        embed, project = Embedding(30, 16).to(DEVICE), Linear(30, input_size=16).to(DEVICE)
        decoder = RNN.AttentionalRNNDecoder("gru", "content", 16, 8, 1, 16, 16).to(DEVICE)
        options = {"bos_index": 0, "eos_index": 1, "min_decode_ratio": 0.0, "max_decode_ratio": 0.5}
        for search in (
            seq2seq.S2SRNNGreedySearcher(embed, decoder, project, **options),
            seq2seq.S2SRNNBeamSearcher(embed, decoder, project, beam_size=3, **options),
        ):
            for _ in range(4):
                with step(type(search).__name__), torch.no_grad():
                    search(_features(16, 12), _lengths())
    with case("transducer"):
        embed, predict = Embedding(10, 16).to(DEVICE), RNN.GRU(16, input_shape=(None, None, 16)).to(DEVICE)
        joint = Transducer_joint(joint="sum").to(DEVICE)
        head = Linear(10, input_size=16).to(DEVICE)
        greedy = transducer.TransducerBeamSearcher([embed, predict], joint, [head], blank_id=0, beam_size=1)
        for _ in range(5):
            with step("decode"), torch.no_grad():
                greedy(_features(16, 8))
