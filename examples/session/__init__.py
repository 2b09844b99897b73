"""The material of the example session: the invented project, the dialogue, the stage, the three forms."""
