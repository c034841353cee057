SELECT :nr AS nr, task AS ord, verdict, count(*) AS n FROM attempt GROUP BY task, verdict;
