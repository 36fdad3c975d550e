"""How the shipped model was made: generated session logs, a tokenizer, training and the measurement.

Nothing here is needed to serve the model. ``python -m inferlake_serve.training.train --out FOLDER`` makes it again.
"""

import os

# Before torch is imported: its threads wait by spinning, and where somebody else computes too, training took 20 times
# as long.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
