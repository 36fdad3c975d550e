"""The registry's rules as plain functions: no clock, no database, no network; time is passed in."""
