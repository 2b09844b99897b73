"""Tests of the validators, and the payloads they and others are tried on."""
