(torch.arange(4.0).to(device).to)(device)
import torch
