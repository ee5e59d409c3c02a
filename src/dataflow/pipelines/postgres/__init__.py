"""PostgreSQL as a target (staging by COPY, publish under a fence, recovery) and as a source; no Spark."""
