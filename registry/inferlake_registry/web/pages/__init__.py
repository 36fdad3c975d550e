"""One module a page: what a service returns becomes what a template receives."""
