-- The entries that an attempt was shown.
SELECT name, problem, solution, plan FROM shown JOIN entry USING (entry)
WHERE shown.task = :task AND shown.attempt = :attempt ORDER BY rank;
