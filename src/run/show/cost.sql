SELECT char(10) || '## Cost';
SELECT format('    %s: %d tokens in (%d cached), %d out (%d reasoning), $%d.%06d, %s s', purpose,
    input, cached, output, reasoning, cost_usd_micro / 1000000, cost_usd_micro % 1000000,
    fixed(wall_us / 1e6, 1)) || iif(estimated, ', tokens are estimates', '')
    || ifnull(', ' || model, '')
FROM call WHERE task = :task AND attempt = :attempt ORDER BY asked_at, try, purpose, asked;
SELECT format('    total: %d tokens in, %d out, $%d.%06d', sum(input), sum(output),
    sum(cost_usd_micro) / 1000000, sum(cost_usd_micro) % 1000000)
FROM call WHERE task = :task AND attempt = :attempt;
