-- The days of a job's daily dataids and of each input, as the last fields of a cron expression; '' for every day.
ALTER TABLE job ADD COLUMN days text NOT NULL DEFAULT '';
ALTER TABLE job_input ADD COLUMN days text NOT NULL DEFAULT '';
UPDATE job SET days = ltrim(ltrim(ltrim(ltrim(schedule, '0123456789'), ' '), '0123456789'), ' ')
WHERE grain = 'daily' AND schedule LIKE '% % % % %';
UPDATE job SET days = '' WHERE days IN ('* * *', '? * *', '* * ?', '? * ?');
UPDATE job_input
SET days = coalesce((SELECT j.days FROM job j JOIN dataset d ON d.name = j.name || '.calendar'
                     WHERE j.job_id = job_input.job_id AND d.dataset_id = job_input.dataset_id), '');
