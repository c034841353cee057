-- Which examples an attempt was shown, and how they were chosen.
SELECT :nr AS nr, a.task AS ord, a.attempt, rank, s.entry,
    CASE WHEN retrieval GLOB 'si*' THEN 1 WHEN retrieval GLOB 'r*' THEN 2
        WHEN retrieval GLOB 'c*' THEN 3 ELSE 0 END AS mode
FROM attempt AS a JOIN shown AS s USING (task, attempt) WHERE a.attempt > 0;
