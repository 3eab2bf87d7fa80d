import torchfor step in x:            @wraps(torch.tensor(lambda *a, k=x, **o: (a, k), device=(torch.where({}, torch.zeros(3, 4).cuda(), x))))            def helper(x):              pass
