// JSON with integers of any size, which Python reads exactly, and bytes as {"$bytes": hex}; dates as
// {"$date": milliseconds}, and numbers that JSON does not have as {"$number": text}.
export function toJson(value) {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) {
    return JSON.stringify({ $number: Object.is(value, -0) ? '-0' : String(value) })
  }
  if (value instanceof Date) return toJson({ $date: value.getTime() })
  if (value instanceof Uint8Array) return JSON.stringify({ $bytes: Buffer.from(value).toString('hex') })
  if (ArrayBuffer.isView(value)) return toJson(Array.from(value))
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${toJson(field)}`).join(',')}}`
}
