"""Projects in the shapes of the first Data Flow: classes in dataflow/meta, later in dataflow/dags."""

from __future__ import annotations

from pathlib import Path

DATASETS = """\
\"\"\"What comes from the hub.\"\"\"
from datetime import datetime

from dataflow import constants


class OrdersDatasetPipeline:
    \"\"\"Orders, with the é of a comment.\"\"\"

    table_name = 'orders_dataset'
    source_url = '{}/v4/dataset/orders'.format(constants.HUB_URL)
    target_db = 'datasets_db'
    start_date = datetime.now().replace(day=1)
    end_date = datetime(2019, 12, 01)
    field_mapping = [
        (
            'reference',
            'order_reference',
            'character varying(100) PRIMARY KEY'
        ),
        (
            'company__name',
            'company_name',
            'character varying(255) NOT NULL'
        )
        (
            'completed_on',
            'completion_date',
            'timestamp with time zone'
        ),
        ('company_id' 'company_id', 'uuid'),  # é
        ('subtotal', 'subtotal', 'integer'),
    ]


class CompaniesDatasetPipeline:
    table_name = 'companies_dataset'
    source_url = '{0}/v4/dataset/companies'.format(constants.HUB_URL)
    target_db = 'datasets_db'
    field_mapping = [('id', 'id', 'uuid primary key'), ('name', 'name', 'text')]


class Events:
    table_name = 'events_dataset'
    source_url = 'https://events.example'
    field_mapping = [('id', 'id', 'uuid primary key')]


class FeedDatasetPipeline:
    table_name = 'feed_dataset'
    query = {'match_all': {}}
"""
VIEWS = """\
from datetime import datetime

from dataflow import constants
from dataflow.meta.dataset_pipelines import (
    FeedDatasetPipeline,
    OrdersDatasetPipeline,
)


class CompletedOrdersViewPipeline:
    view_name = 'completed_orders'
    dataset_pipeline = OrdersDatasetPipeline
    start_date = datetime(2019, 8, 1)
    catchup = True
    fields = [
        ('orders_dataset.order_reference', 'Reference'),
        ('companies_dataset.name' 'Company'),
    ]
    join_clause = 'LEFT JOIN companies_dataset ON orders_dataset.company_id = companies_dataset.id'
    where_clause = \"\"\"
        date_trunc('month', completion_date)::DATE = date_trunc('month', to_date('{{ ds }}', 'YYYY-MM-DD'))
        and completion_date >= to_date('{{ ds[:4] }}-{{ first_day }}', 'YYYY-MM-DD');
    \"\"\"
    params = {'first_day': constants.FINANCIAL_YEAR_FIRST_MONTH_DAY}
    schedule_interval = '@monthly'


class AllOrdersViewPipeline:
    table_name = 'all_orders'
    dataset_pipeline = OrdersDatasetPipeline
    retries = 5
    fields = '__all__'
    colour = 'red'


class FeedViewPipeline:
    view_name = 'feed'
    dataset_pipeline = FeedDatasetPipeline
"""
CONSTANTS = """\
\"\"\"Constants of the whole project.\"\"\"
import os

HUB_URL = os.environ.get('HUB_URL')
FINANCIAL_YEAR_FIRST_MONTH_DAY = os.environ.get('FINANCIAL_YEAR_FIRST_MONTH_DAY', '04-06')
"""
FACTORY = """\
from datetime import timedelta

from airflow import DAG
from dataflow.meta import view_pipelines
from dataflow.utils import get_classes

default_args = {'owner': 'airflow', 'retries': 1, 'retry_delay': timedelta(minutes=5)}

for pipeline in get_classes(view_pipelines, 'ViewPipeline'):
    with DAG(pipeline.__name__, default_args=default_args) as dag:
        globals()[pipeline.__name__] = dag
"""
CANARY = """\
from airflow import DAG

canary = DAG('canary')
"""
META = {
    "dataflow/__init__.py": "",
    "dataflow/constants.py": CONSTANTS,
    "dataflow/meta/__init__.py": "",
    "dataflow/meta/dataset_pipelines.py": DATASETS,
    "dataflow/meta/view_pipelines.py": VIEWS,
    "dataflow/dags/view_pipelines.py": FACTORY,
    "dataflow/dags/canary.py": CANARY,
    "dataflow/utils.py": "def get_classes(module, word):\n    return []\n",
    "sample.env": "HUB_URL=https://hub.example\n"
    "AIRFLOW_CONN_DATASETS_DB=postgresql+psycopg2://etl:hunter2@dbhost:5432/datasets\n",
}

DAG_DATASETS = """\
from datetime import datetime, timedelta

import csv
from airflow import DAG
from airflow.operators.python_operator import PythonOperator

from dataflow import config
from dataflow.operators.dataset import run_fetch


class BaseDatasetPipeline:
    target_db = 'datasets_db'
    start_date = datetime(2019, 11, 5)

    @classmethod
    def get_dag(pipeline):
        dag = DAG(
            pipeline.__name__,
            default_args={'retries': 2, 'retry_delay': timedelta(seconds=90)},
            start_date=pipeline.start_date,
        )
        dag << PythonOperator(task_id='fetch', python_callable=run_fetch)
        return dag


class OrdersDatasetPipeline(BaseDatasetPipeline):
    table_name = 'orders_dataset'
    source_url = '{0}/v4/dataset/orders'.format(config.HUB_URL)
    field_mapping = [('id', 'id', 'uuid primary key'), ('company_id', 'company_id', 'uuid')]


class Companies(BaseDatasetPipeline):
    table_name = 'companies_dataset'
    source_url = '{0}/v4/dataset/companies'.format(config.HUB_URL)
    field_mapping = [('id', 'id', 'uuid primary key'), ('name', 'name', 'text')]


def notify(context):
    return csv.reader([])


class LettersDatasetPipeline(BaseDatasetPipeline):
    table_name = 'letters'
    source_url = 'https://letters.example'
    field_mapping = run_fetch.mapping


for pipeline in BaseDatasetPipeline.__subclasses__():
    globals()[pipeline.__name__ + '__dag'] = pipeline.get_dag()
"""
DAG_VIEWS = """\
from datetime import datetime

from airflow import DAG
from dataflow.dags.dataset_pipelines import Companies, OrdersDatasetPipeline


class BaseViewPipeline:
    start_date = datetime(2019, 10, 1)
    schedule_interval = '0 5 1 * *'
    materialized = False

    @classmethod
    def get_dag(pipeline):
        return DAG(pipeline.__name__)


class OrdersViewPipeline(BaseViewPipeline):
    view_name = 'orders'
    dataset_pipeline = OrdersDatasetPipeline
    query = '''
        SELECT orders_dataset.id, companies_dataset.name AS "Company"
        FROM {{ table_name }}
        JOIN companies_dataset ON orders_dataset.company_id = companies_dataset.id
    '''


for pipeline in BaseViewPipeline.__subclasses__():
    globals()[pipeline.__name__ + '__dag'] = pipeline.get_dag()
"""
DAGS = {
    "dataflow/config.py": "import os\n\nHUB_URL = os.environ['HUB_URL']\n",
    "dataflow/dags/__init__.py": "",
    "dataflow/dags/dataset_pipelines.py": DAG_DATASETS,
    "dataflow/dags/view_pipelines.py": DAG_VIEWS,
    "dataflow/operators/dataset.py": "def run_fetch():\n    pass\n",
}


def write_old_project(folder: Path, files: dict[str, str]) -> Path:
    """Writes the files of an old project."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
