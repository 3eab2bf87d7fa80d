"""A pool of threads and an event loop that serve one model: transfers belong to the line that asked, in any thread."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
model = nn.Linear(3, 2).to(DEVICE)  # transfers: h2d 24 B x 1, h2d 8 B x 1


def serve(request):
    with torch.inference_mode():
        answer = model(torch.tensor(request, device=DEVICE))  # transfers: h2d 12 B x 12
        return [round(value, 5) for value in answer.tolist()]  # transfers: d2h 8 B x 12


async def queue(requests):
    loop = asyncio.get_running_loop()
    later = [loop.run_in_executor(None, serve, request) for request in requests]
    first = [torch.tensor(request).to(DEVICE).sum() for request in requests]  # transfers: h2d 12 B x 4
    await asyncio.sleep(0)
    return await asyncio.gather(*later), torch.stack(first).tolist()  # transfers: d2h 16 B x 1


requests = [[float(number), 1.0, -1.0] for number in range(8)]
with ThreadPoolExecutor(3) as pool:
    print(list(pool.map(serve, requests)))
print(asyncio.run(queue(requests[:4])))
