// Reads the Parquet files named on the command line with hyparquet and prints one line of JSON for each: the rows
// of every column, and for every column chunk its size statistics, column index and offset index.

import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { parquetSchema, readColumnIndex, readOffsetIndex } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { toJson } from './json.mjs'

for (const path of process.argv.slice(2)) {
  console.log(toJson(await readFile(path)))
}

async function readFile(path) {
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  const rows = await parquetReadObjects({ file, metadata, compressors, utf8: false })
  const columns = {}
  for (const child of parquetSchema(metadata).children) {
    columns[child.element.name] = rows.map(row => row[child.element.name])
  }
  const leaves = metadata.schema.filter(element => element.type)
  const chunks = []
  for (const [ordinal, group] of metadata.row_groups.entries()) {
    for (const [i, chunk] of group.columns.entries()) {
      chunks.push({
        row_group: ordinal,
        path: chunk.meta_data.path_in_schema.join('.'),
        size_statistics: chunk.meta_data.size_statistics,
        column_index: await readIndex(file, chunk, 'column_index', reader => readColumnIndex(reader, leaves[i])),
        offset_index: await readIndex(file, chunk, 'offset_index', readOffsetIndex),
      })
    }
  }
  return { columns, chunks }
}

async function readIndex(file, chunk, name, read) {
  if (chunk[`${name}_offset`] === undefined) return undefined
  const start = Number(chunk[`${name}_offset`])
  const bytes = await file.slice(start, start + chunk[`${name}_length`])
  return read({ view: new DataView(bytes), offset: 0 })
}
