console.log("hi", process.argv.slice(2), process.version);
