"""How the shipped model was made: generated session logs, a tokenizer, training and the measurement.

Nothing here is needed to serve the model. ``python -m inferlake_serve.training.train --out FOLDER`` makes it again.
"""
