-- Correct kernels, and how fast they are; without a time, why.
SELECT :nr AS nr, task AS ord, attempt,
    speedup(times, 'reference_ms') AS eager,
    speedup(times, 'compile_ms') AS compile,
    CASE WHEN json_valid(times) THEN times ->> 'timing_why' END AS why
FROM attempt LEFT JOIN verdict_time USING (task, attempt)
WHERE solved;
