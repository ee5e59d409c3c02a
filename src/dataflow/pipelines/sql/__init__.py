"""SQL of view pipelines: templates, building, checking and translating. Nothing here runs SQL."""
