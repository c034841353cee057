-- The attempts, with the hint that ended the feedback of each that failed.
SELECT :nr AS nr, ord, attempt, a.verdict, fitness,
    iif(a.verdict <> 'correct', hint(text(feedback)), NULL) AS hint
FROM subject JOIN attempt AS a ON task = ord LEFT JOIN verdict USING (task, attempt)
WHERE NOT piece AND NOT skipped;
