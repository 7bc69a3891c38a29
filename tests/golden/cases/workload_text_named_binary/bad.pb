name: "small"
ranks: 2
role {
  name: "all"
  op { name: "c" compute { duration: "1ms" } }
}
