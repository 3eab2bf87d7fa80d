import numpy as np

(torch): int = np.zeros(3)
loader @= ('😀') if ({*((np.zeros(3)).to(device).to(device))}) else x
