-- What changed in the code since the last attempt before that has some.
SELECT changes(old.code, 'attempt ' || old.attempt, now.code, 'attempt ' || now.attempt) AS diff,
    old.attempt AS before
FROM attempt AS now JOIN attempt AS old USING (task)
WHERE task = :task AND now.attempt = :attempt AND old.attempt < now.attempt
    AND old.code IS NOT NULL
ORDER BY old.attempt DESC LIMIT 1;
