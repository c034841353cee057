-- What was paid for a task; -1: for none. By the table, whose index by task is slower here.
SELECT :nr AS nr, task AS ord, count(*) FILTER (WHERE state = 'answered') AS answered,
    sum(input) AS input, sum(output) AS output, sum(cost_usd_micro) AS usd_micro,
    max(estimated OR assumed_usd_micro) AS estimated
FROM call GROUP BY +task;
