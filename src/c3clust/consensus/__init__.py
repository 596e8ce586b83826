"""Clusterings that vote: members, matching, votes, and an estimate of the accuracy. No true labels."""
