# options: in a loop
import torch
import numpy as np
del device
é = device
yield torch.float16
class C(torch.nn.Module):
    def m(self, x, device='cuda', *, model=None):
        @torch.no_grad()
        class E(x, y=super().m):
            assert ((helper(*('cpu'), **(...))).to(device).to(device)) and (zip(('😀').to(torch.nn.Linear(1, 1)), (y).view(-1))), np.zeros(3)  # comment 25
def work(x, y):
    with ({*(None)}, 'a' "b" f'{x=}') as y:
      async for x in (print(loader)).to(device):
          model = yield from ([q for q in (zip(x, torch)) if q],)
          {}
          for x in f'{x} {y!r:>{z}}', [*([q for q in (model) if q])]:

              # alone 19
              print(é, file=(()).sum().item())
              raise ValueError(1_000j)
              continue
              z
      print((((z).view(-1)) is (x.shape)) % (y), file=rows)
      (x): int = getattr(torch.zeros(2), 'a')
      yield helper({k: v for k, v in ('cpu')})
    yield 0
    pass  # comment 11
    from a import *
def work(x, y):
    with (torch.where(rows, y, x)) in ((loader).sum().item()) as y:
        self.a
        for self.a, y[0] in (lambda q: q + x).cpu().numpy():
            def forward(self, x: 'Tensor', /, y=loader, *, z):
                from . import torch
                assert zip(torch.zeros(2, device='cuda'), (device).to('cuda')), {**((([]).to(device).to(device))[torch.float16]), 'a': super().m}
            super().m  # comment 3
        else:
            torch = y; model = dict(a=(max((b'a')[(torch.float16):(loader)], self.m(torch.zeros(3, 4).cuda()))))
            async with True as y:
                y: torch.Tensor = model
                continue
        model = (
            torch.tensor(model('cpu'))  # kept
        )

        # alone -3
        raise ValueError(-(True))
    del y
    model = (
        (((y) is (torch.zeros(2))).tolist())[super().m]  # kept
    )
    raise ValueError((isinstance([], torch.Tensor)) @ (enumerate(b'a')))
