// Reads each column of the Parquet files named on the standard input by itself, with hyparquet's defaults but for
// `utf8`, and prints one line of JSON for each file: the values of a column, or {"$error": message}.

import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { text } from 'node:stream/consumers'
import { toJson } from './json.mjs'

for (const path of (await text(process.stdin)).trim().split('\n')) {
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  const columns = {}
  for (const { element } of parquetSchema(metadata).children) {
    const name = element.name
    try {
      const rows = await parquetReadObjects({ file, metadata, compressors, utf8: false, columns: [name] })
      columns[name] = rows.map(row => row[name])
    } catch (error) {
      columns[name] = { $error: String(error) }
    }
  }
  console.log(toJson(columns))
}
