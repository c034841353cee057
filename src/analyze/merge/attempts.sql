SELECT :nr AS nr, task AS ord, attempt, a.verdict, retrieval, solved, compiled
FROM attempt AS a LEFT JOIN verdict USING (task, attempt);
