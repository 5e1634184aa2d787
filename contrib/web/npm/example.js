'use strict'

// Writes the reports of a capture as JSON: node example.js CAPTURE [SYSROOT]
const { open } = require(process.env.BACKSIGHT ?? 'backsight')

async function main ([capture, sysroot]) {
  const session = await open({ sysroot: sysroot ? [sysroot] : [] })
  try {
    process.stdout.write(await session.report(capture))
  } finally {
    await session.close()
  }
}

main(process.argv.slice(2)).catch(error => {
  console.error(error.message)
  process.exitCode = 1
})
