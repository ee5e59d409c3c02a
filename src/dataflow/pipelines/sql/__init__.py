"""SQL of view pipelines: templates, building, checking and translating; nothing here runs it."""
