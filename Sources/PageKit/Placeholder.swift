import PageCore
