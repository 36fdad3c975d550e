"""The demo: the whole product on one machine, on a real model, over session logs in eight languages."""
