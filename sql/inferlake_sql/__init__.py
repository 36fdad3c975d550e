"""The language of model statements: text in, typed statements or one family of errors out."""
