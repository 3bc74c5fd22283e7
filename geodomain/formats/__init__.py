"""Block models as files: text, Parquet and VTK; `model` says what each module must have."""
