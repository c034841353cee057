-- The first attempt at a task that compiled.
SELECT :nr AS nr, task AS ord, min(attempt) AS compiled_at
FROM verdict JOIN attempt USING (task, attempt) WHERE compiled GROUP BY task;
