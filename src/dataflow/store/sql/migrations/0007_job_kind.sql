-- What a job is: '' until something has run it, 'script', or of pipelines 'dataset', 'view' or 'job' (a Python job). Until
-- now it was guessed from the script and the inputs, as it is here for once; each run of a project says it again.
ALTER TABLE job ADD COLUMN kind text NOT NULL DEFAULT '';
UPDATE job SET kind = 'script' WHERE script_path NOT IN ('', 'pipeline');
UPDATE job SET kind = CASE WHEN EXISTS (
    SELECT 1 FROM job_input i JOIN dataset d ON d.dataset_id = i.dataset_id
    WHERE i.job_id = job.job_id AND NOT EXISTS (SELECT 1 FROM calendar c WHERE c.dataset_id = d.dataset_id)
) THEN 'view' ELSE 'dataset' END
WHERE script_path = 'pipeline';
