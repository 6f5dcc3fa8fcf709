"""The self-test of an installed copy: does what this project claims hold on this machine?  All data are made up."""
