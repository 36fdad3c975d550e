"""The model registry: contract, client and service. This module imports nothing, so that executors stay light."""
