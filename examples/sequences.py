"""Learn which sequences hold more ones than zeros with a recurrent network, on sequences of different lengths.

Reading the source shows some of what this program moves and waits for; running it shows which of that is so, and what
else there is: `transferlint verify examples/sequences.py --device cuda`, on any machine.
"""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

SHORTEST, LONGEST = 4, 24


class Recogniser(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(2, width)
        self.recur = nn.LSTM(width, width, batch_first=True)
        self.decide = nn.Linear(width, 2)

    def forward(self, tokens, lengths):
        tokens = tokens[:, : lengths.cpu().max()]  # nothing behind the longest
        packed = pack_padded_sequence(self.embed(tokens), lengths, batch_first=True, enforce_sorted=False)
        _, (last, _) = self.recur(packed)
        return self.decide(last[-1])


def make_sequences(count, generator):
    lengths = torch.randint(SHORTEST, LONGEST, (count,), generator=generator).tolist()
    return [torch.randint(2, (length,), generator=generator) for length in lengths]


def collate(sequences):
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    labels = torch.stack([(2 * sequence.sum() > len(sequence)).long() for sequence in sequences])
    return pad_sequence(sequences, batch_first=True), lengths, labels


def train_epoch(model, loader, optimizer, scheduler, device):
    total = 0.0
    for tokens, lengths, labels in loader:
        tokens, labels = tokens.to(device), labels.to(device)
        loss = nn.functional.cross_entropy(model(tokens, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(loss.detach())
        total += loss.item()
    return total / len(loader)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()

    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = Recogniser().to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    sequences = make_sequences(512, generator)
    loader = DataLoader(sequences, batch_size=32, shuffle=True, collate_fn=collate, generator=generator)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=16)
    for epoch in range(args.epochs):
        loss = train_epoch(model, loader, optimizer, scheduler, torch.device(args.device))
        print(f"epoch {epoch}: loss {loss:.4f}")


if __name__ == "__main__":
    main()
