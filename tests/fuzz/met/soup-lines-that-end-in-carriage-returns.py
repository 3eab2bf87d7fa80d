import torchdef work(x, y):    for self, y[0] in (next(iter(lambda *a, k=x, **o: (a, k))))[((torch.zeros(3, 4).cuda()).item()):(helper(y))]:        # alone 18        pass
    else:        pass
