"""The simulated GPU: a program is unrolled, its events get random times that obey the profile, a replay gives the outcome."""
