-- What the last pass of verifying again has done, under which conditions.
SELECT pass, under, problem, solution FROM recheck WHERE pass = (SELECT max(pass) FROM recheck);
