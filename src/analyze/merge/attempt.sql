-- The attempts at tasks, for tables about programs and records. `first`: it solved its task.
SELECT :nr AS nr, ord, attempt, attempt IS solved_at AS first, solved, a.verdict, fitness, code,
    record
FROM subject JOIN attempt AS a ON task = ord LEFT JOIN verdict USING (task, attempt)
WHERE NOT piece AND NOT skipped;
